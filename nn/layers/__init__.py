"""Layers, one file a family; `nn` gives them all.

    linear.py, embedding.py, dropout.py, norm.py, activations.py, feedforward.py     each row, or each channel
    convolution.py, pooling.py                                                       images and sequences
    recurrent.py                                                                     sequences, place by place
    attention.py, transformer.py, generation.py                                      tokens that look at tokens
    losses.py                                                                        losses as modules
"""
