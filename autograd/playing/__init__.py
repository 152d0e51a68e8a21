"""A formula typed on the spot: read (`formula`), computed (`graph`), written as Python (`code`), and played with in a
browser (`page`, `server`). `handgrad play` is the command."""
