"""The version of handgrad: the package, the command line and the wheel all read it here."""

__version__ = "0.1.0"
