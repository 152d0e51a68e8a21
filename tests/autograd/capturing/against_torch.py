"""A captured run held against the same run of torch alone. Needs torch."""

import numpy as np
import torch

import autograd as ag


def captured(model, *inputs, seed=1, **keywords):
    """One captured run."""
    torch.manual_seed(seed)
    return ag.capture(model, *inputs, **keywords)


def reals(tree):
    """The real tensors in what a model took or gave."""
    leaves = torch.utils._pytree.tree_flatten(tree)[0]
    return [x for x in leaves if isinstance(x, torch.Tensor) and x.is_floating_point()]


def assert_same_run(model, *inputs, seed=1, opaque=(), forward=1e-12, backward=1e-10, **keywords):
    """Results and every gradient of a parameter or input are those of torch, from random gradients of the results."""
    run = captured(model, *inputs, seed=seed, **keywords)
    assert sorted(set(run.opaque)) == sorted(opaque), run.notes
    ours = [v for v in torch.utils._pytree.tree_flatten(run.result)[0] if isinstance(v, ag.Value)]

    torch.manual_seed(seed)
    fresh = torch.utils._pytree.tree_map(
        lambda x: x.detach().clone().requires_grad_() if isinstance(x, torch.Tensor) and x.is_floating_point() else x,
        (inputs, keywords),
    )
    used = torch.utils._pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, fresh)
    state = {name: b.clone() for name, b in model.named_buffers()} if isinstance(model, torch.nn.Module) else {}
    theirs = [x for x in reals(model(*used[0], **used[1])) if x.requires_grad]
    assert len(ours) == len(theirs)
    generator = torch.Generator().manual_seed(5)
    starts = [torch.randn(x.shape, generator=generator, dtype=x.dtype) for x in theirs]
    for v, t, u in zip(ours, theirs, starts, strict=True):
        assert_near(v.data, t, forward, "result")
        v.backward(u.numpy())
    named = dict(model.named_parameters()) if isinstance(model, torch.nn.Module) else {}
    leaves = [*named.values(), *reals(fresh)]
    grads = torch.autograd.grad(theirs, leaves, starts, allow_unused=True)
    values = [*(run.parameters[name] for name in named), *run.inputs.values()]
    assert len(values) == len(grads)
    for v, g, leaf in zip(values, grads, leaves, strict=True):
        assert_near(np.zeros(v.shape) if v.grad is None else v.grad, leaf * 0 if g is None else g, backward, v.name)
    if state:
        for name, b in model.named_buffers():
            b.data.copy_(state[name])
    return run


def assert_near(ours, theirs, tolerance, what):
    theirs = theirs.detach().numpy()
    assert np.shape(ours) == theirs.shape, what
    scale = max(float(np.max(np.abs(theirs), initial=0.0)), 1e-3)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * scale, err_msg=str(what))
