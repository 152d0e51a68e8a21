"""How a scene looks: SVG from cards, edges and their places."""
