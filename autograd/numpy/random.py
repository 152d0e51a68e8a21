"""numpy.random: plain numbers, `import autograd.numpy.random as npr`."""

from numpy.random import *  # noqa: F403
