"""Images and sequences.

convolution     in one, two or three dimensions, and its transpose
pooling         the largest or the mean of windows
interpolation   an image or a sequence brought to another size
channels        batch norm and group norm, each as one node
"""
