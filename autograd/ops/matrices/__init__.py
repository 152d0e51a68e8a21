"""Products and decompositions of matrices.

linear      matmul, dot, einsum, outer and other products
linalg      inverse, solve, determinants, Cholesky
eigen       eigenvalues, singular values, QR, norms
"""
