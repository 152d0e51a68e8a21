"""Ops of several steps that run as one, for speed: each says what it is in simpler ops, and so derives its rule there.

softmax     softmax and its kin, the losses
dense       a linear layer
norm        layer norm, batch norm, RMS norm
gelu        GELU and its approximations
attention   one head; heads: several at once
recurrent   one step of an LSTM or a GRU

_stash keeps what a forward pass has for the backward pass; _rows, _blocks and _erf are the loops that these share.
"""
