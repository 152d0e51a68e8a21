"""How a scene looks: SVG from cards, edges and their places.

theme     colours and fonts, light and dark
svg       the few shapes that every picture is made of
card      one card
painter   a whole scene
images    PNG and PDF from SVG
"""
