"""SciPy's functions of Values, at the addresses of HIPS autograd; SciPy has to be installed.

    from autograd.scipy.stats import norm
    from autograd.scipy.special import gammaln, logsumexp
"""
