"""A program on several devices, which JAX simulates: the same numbers as on one, the batch really split."""

import json
import socket
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from autograd import compile

needs_jax = pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed: pip install 'handgrad[jax]'")

ON_EIGHT = """
import json
from examples.data_parallel import run, simulate
simulate(8)
import jax, numpy as np
placed = []
put = jax.device_put
def noted(inputs, shardings):
    placed.extend((np.shape(x), str(s.spec)) for x, s in zip(inputs, shardings))
    return put(inputs, shardings)
jax.device_put = noted
sizes = dict(steps=4, rows=16, d_model=8, n_layers=1)
split, whole, plain = run(8, **sizes), run(None, **sizes), run(None, backend="numpy", **sizes)
print(json.dumps({
    "losses": [split["losses"], whole["losses"], plain["losses"]],
    "apart": max(float(abs(a.data - b.data).max()) for a, b in zip(split["model"].parameters(),
        plain["model"].parameters())),
    "batch": sorted({tuple(shape) for shape, spec in placed if "batch" in spec}),
    "copied": len({tuple(shape) for shape, spec in placed if "batch" not in spec}),
    "devices": jax.device_count(),
}))
"""


def in_a_process(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@needs_jax
def test_eight_devices_train_a_gpt_as_one_does():
    """examples/data_parallel.py, small: losses and parameters after four steps."""
    found = json.loads(in_a_process(ON_EIGHT))
    split, whole, plain = found["losses"]
    assert found["devices"] == 8
    np.testing.assert_allclose(split, whole, rtol=1e-12)
    np.testing.assert_allclose(split, plain, rtol=1e-12)
    assert found["apart"] < 1e-10  # AdamW divides by the root of a squared gradient, however small
    assert len(found["batch"]) == 1 and found["batch"][0][0] == 16  # the ids and the targets, nothing else
    assert found["copied"] > 5
    assert split[-1] < split[0]


REFUSED = """
import jax, numpy as np
from autograd import compile
f = lambda w, x: ((x @ w) ** 2).sum()
w, x = np.ones((3, 2)), np.ones((6, 3))
value, (dw, dx) = compile(f, "jax", devices=2, batch="x")(w, x)
want, (want_w, want_x) = compile(f)(w, x)
assert value == want and (dw == want_w).all() and (dx == want_x).all()
for options, inputs in (({"batch": ["x"]}, (w, x[:5])), ({}, (w, x)), ({"batch": ["y"]}, (w, x)),
                        ({"batch": ["x"], "devices": 3}, (w, x))):
    try:
        compile(f, "jax", **{"devices": 2, **options})(*inputs)
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.mark.slow
@needs_jax
def test_what_cannot_be_split_is_refused():
    preamble = "from examples.data_parallel import simulate; simulate(2)\n"
    lines = in_a_process(preamble + REFUSED).splitlines()
    assert len(lines) == 4 and all(line.startswith("DataError") for line in lines), lines
    assert "x of shape (5, 3) cannot be split over 2 devices" in lines[0]
    assert "which of w, x are split over the devices? Say batch=('x',)" in lines[1]
    assert "the function has no argument 'y', only w, x" in lines[2]
    assert "devices=3, but JAX sees 2" in lines[3]


def test_devices_are_jaxs():
    with pytest.raises(ValueError, match="devices= needs backend='jax'"):
        compile(lambda x: x, devices=8)
    with pytest.raises(TypeError, match="batch= says what is split over devices"):
        compile(lambda x: x, "jax", batch="x")


ON_TWO_HOSTS = """
import os, sys
os.environ |= {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
import jax
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"localhost:{sys.argv[1]}", num_processes=2, process_id=int(sys.argv[2]))
import json
from examples.data_parallel import run
sizes = dict(steps=3, rows=16, d_model=8, n_layers=1)
found = [jax.device_count(), run(4, **sizes)["losses"], run(None, backend="numpy", **sizes)["losses"]]
print("found", json.dumps(found))
"""


@needs_jax
@pytest.mark.slow
def test_two_processes_with_two_devices_each_train_as_one_does():
    """jax.distributed, as on two hosts: each process has the whole result."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-c", ON_TWO_HOSTS, port]
    hosts = [subprocess.Popen([*command, n], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for n in "01"]
    try:
        for said, errors in [host.communicate(timeout=240) for host in hosts]:
            lines = [line.removeprefix("found ") for line in said.splitlines() if line.startswith("found ")]
            assert lines, errors
            devices, split, plain = json.loads(lines[0])
            assert devices == 4
            np.testing.assert_allclose(split, plain, rtol=1e-12)
    finally:
        for host in hosts:
            host.kill()
