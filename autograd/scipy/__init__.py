"""SciPy's functions of Values, at the addresses of HIPS autograd; SciPy has to be installed.

    from autograd.scipy.stats import norm
    from autograd.scipy.special import gammaln, logsumexp

special     gamma, beta, Bessel and error functions     stats/       densities and their logarithms
linalg      square roots, triangular and banded systems signal       convolve
integrate   odeint, by the adjoint equation
"""
