"""The trainings among the examples reach what they promise."""

import signal

import numpy as np
import pytest

from examples import char_gpt, copy_reverse, two_moons
from examples.pictures import save_pictures


def test_two_moons_are_told_apart():
    found = two_moons.run()
    assert found["loss"] < 0.05
    assert found["accuracy"] == 1.0 and found["test accuracy"] > 0.98


def test_two_moons_is_the_same_on_every_run():
    assert two_moons.run(steps=20)["history"].losses == two_moons.run(steps=20)["history"].losses


def test_the_word_list():
    every = char_gpt.words()
    assert len(every) > 300 and every == sorted(set(every))
    assert all(set(word) <= set(char_gpt.ALPHABET[1:]) for word in every)


def test_words_become_ids_and_come_back():
    read, following = char_gpt.as_ids(["cat", "gnu"], 6)
    assert read.tolist() == [[0, 3, 1, 20, 0, 0], [0, 7, 14, 21, 0, 0]]
    assert following.tolist() == [[3, 1, 20, 0, -1, -1], [7, 14, 21, 0, -1, -1]]
    assert char_gpt.spelled(np.array([0, 3, 1, 20, 0, 0])) == "cat"


@pytest.mark.slow
def test_a_gpt_learns_to_spell():
    found = char_gpt.run()
    assert found["loss"] < 2.1  # a letter, in nats; guessing costs 3.296
    assert found["held-out loss"] < 2.7
    assert len(found["new words"]) > 20
    assert np.mean([len(word) for word in found["new words"]]) > 3.5
    maps = char_gpt.attention_maps(found["model"], "owl")
    assert all(np.allclose(head.sum(axis=-1), 1, atol=1e-5) and head.shape == (4, 4) for head in maps.values())


def test_ctrl_c_before_the_first_evaluation_leaves_a_model_and_its_loss(monkeypatch):
    presses = iter([signal.SIGINT])
    cross_entropy = char_gpt.F.cross_entropy

    def pressed(*args, **options):
        for press in presses:
            signal.raise_signal(press)
        return cross_entropy(*args, **options)

    monkeypatch.setattr(char_gpt.F, "cross_entropy", pressed)
    found = char_gpt.run(steps=40)
    assert (found["history"].stopped, found["history"].evaluations) == ("interrupted", [])
    assert 2.5 < found["held-out loss"] < 5


@pytest.fixture(scope="module")
def copied_and_reversed():
    return copy_reverse.run()


@pytest.mark.slow
def test_attention_copies_and_reverses_and_its_absence_does_not(copied_and_reversed):
    found = copied_and_reversed
    assert found["copy"]["accuracy"] > 0.99
    assert found["reverse"]["accuracy"] > 0.99
    assert found["reverse without attention"]["accuracy"] < 0.2  # guessing is 0.125


@pytest.mark.slow
def test_the_reversing_model_looks_at_the_mirrored_place(copied_and_reversed):
    found = copied_and_reversed["reverse"]
    rng = np.random.default_rng(0)
    ids, _ = copy_reverse.sequences(rng, 1, "reverse", copy_reverse.LENGTH, copy_reverse.LETTERS)
    first_layer = copy_reverse.attention_maps(found["model"], ids[0])["layer 1, head 1"]
    asked = first_layer[copy_reverse.LENGTH :, : copy_reverse.LENGTH]  # rows: the bar and after; columns: the letters
    assert (asked.argmax(axis=1) == np.arange(copy_reverse.LENGTH)[::-1]).mean() > 0.8


def test_sequences():
    ids, targets = copy_reverse.sequences(np.random.default_rng(0), 1, "reverse", 3, 8)
    first = ids[0, :3]
    assert ids[0, 3] == 8
    assert targets[0].tolist() == [-1, -1, -1, *first[::-1]]
    assert copy_reverse.written(ids[0])[3] == "|"


def test_without_matplotlib_the_pictures_say_what_is_missing(tmp_path, capsys):
    def paint(path):
        raise ImportError("plots need matplotlib: pip install 'handgrad[plot]'")

    save_pictures(tmp_path / "out", {"loss.svg": paint})
    assert capsys.readouterr().out == "plots need matplotlib: pip install 'handgrad[plot]'\n"


@pytest.mark.slow
@pytest.mark.parametrize("example", [two_moons, copy_reverse, char_gpt])
def test_main_prints_and_saves_pictures(example, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(example, "STEPS", 3)
    short = example.run
    monkeypatch.setattr(example, "run", lambda **settings: short(**{**settings, "steps": 3}))
    example.main()
    assert "loss" in capsys.readouterr().out
    saved = {path.name for path in (tmp_path / "out").rglob("*.*")}
    assert "loss.svg" in saved and saved & {"boundary.png", "attention.png"}
