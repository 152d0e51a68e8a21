"use strict";
// Turns the slides of a lecture: → ← Space, Home and End, or a click. The address keeps the place. A slide that does not
// fit is set smaller. On paper all slides are printed.
const slides = [...document.querySelectorAll(".slide")];
for (const [number, slide] of slides.entries()) {
  slide.dataset.place = `${number + 1} of ${slides.length}`;
  const body = slide.querySelector(".body");
  for (let zoom = 2.4; body && zoom > .5 && !fits(body, slide); zoom *= .94) {
    body.style.zoom = zoom;
    body.classList.toggle("two", zoom < 1);   // many lines in two columns
    body.style.maxWidth = `${(slide.querySelector(".map") ? 980 : 1160) / zoom}px`;
  }
}
function fits(body, slide) {
  const inner = body.getBoundingClientRect(), whole = slide.getBoundingClientRect();
  return body.style.zoom && inner.bottom <= whole.bottom - 50 && body.scrollWidth <= body.clientWidth + 1;
}
let at = Math.min(Math.max(Number(location.hash.slice(1)) || 1, 1), slides.length) - 1;
function turn(to) {
  at = Math.min(Math.max(to, 0), slides.length - 1);
  slides.forEach((slide, number) => slide.classList.toggle("on", number === at));
  history.replaceState(null, "", `#${at + 1}`);
}
document.body.classList.add("turning");
const shrink = () => { document.body.style.zoom = Math.min(1, document.documentElement.clientWidth / 1280); };
shrink();                                    // a narrow window shows the whole slide, smaller
addEventListener("resize", shrink);
turn(at);
addEventListener("keydown", (event) => {
  const to = { ArrowRight: at + 1, PageDown: at + 1, " ": at + 1, ArrowLeft: at - 1, PageUp: at - 1, Home: 0, End: slides.length - 1 };
  if (event.key in to) turn(to[event.key]);
});
addEventListener("click", (event) => turn(at + (event.clientX < innerWidth / 3 ? -1 : 1)));
addEventListener("hashchange", () => turn(Number(location.hash.slice(1)) - 1));
