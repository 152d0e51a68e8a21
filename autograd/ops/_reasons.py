"""Why an op passes on less gradient than it got, read off the numbers of one step. Op blocks name these in `about`."""

import numpy as np

SATURATED = 0.99  # of the most that a squashing function can give


def saturated(slope, limit):
    """Of a squashing function: at these inputs it is almost flat."""

    def reason(passage):
        flat = limit(np.asarray(passage.out)) > SATURATED
        if not np.any(flat):
            return ""
        part = "" if np.all(flat) else f" at {int(np.sum(flat))} of {flat.size} entries"
        return (f"{passage.op} is saturated{part}: at an input this far from 0 its slope, {slope}, is almost 0. "
                "Scale its inputs down, or start with smaller weights.")

    return reason


def dead(passage):
    x = np.asarray(passage.x)
    which = "its input is" if x.size == 1 else f"{int(np.sum(x <= 0))} of its {x.size} inputs are"
    return (f"A dead ReLU: {which} not above 0, and there relu passes nothing on. "
            "A smaller learning rate, a positive bias or leaky_relu keeps units alive.")


def probabilities(passage):
    p, g = np.asarray(passage.out), np.asarray(passage.g)
    if np.any(p.sum(axis=-1) == 0):
        return "A row of its input is masked out completely, so it is all zeros and passes nothing on."
    if np.max(np.ptp(g, axis=-1)) <= 1e-9 * np.max(np.abs(g)):
        return "What arrives is the same all along a row, and softmax does not change when all its inputs rise alike."
    if np.min(np.max(p, axis=-1)) > SATURATED:
        return ("softmax is saturated: one probability in each row is almost 1, and then small changes of the inputs "
                "change nothing. Divide the scores by a larger number (√d), or make them smaller.")
    return ""


def normalised(passage):
    g = np.asarray(passage.g)
    if np.max(np.ptp(g, axis=-1)) <= 1e-6 * np.max(np.abs(g)):
        return ("What arrives is the same for every feature of a row (a plain sum does that), and the norm subtracts "
                "the mean: a change that lifts all features alike is undone. Let the loss weigh features differently.")
    return "The norm subtracts each row's mean and divides by its spread: changes in those directions leave no trace."


def other_factor(passage):
    for name, data in passage.others:
        if not np.any(data):
            return f"It is multiplied by {name}, which is {'0' if np.ndim(data) == 0 else 'all zeros'}."
        return f"It is multiplied by {name}, whose largest entry is {np.max(np.abs(data)):.3g}."
    return ""


def picked(passage):
    kept = int(np.count_nonzero(passage.sent))
    return f"Only {kept} of its {np.size(passage.sent)} entries were used; the others get 0."


def chosen(passage):
    return f"{passage.op} passes its gradient only to the entry it chose."
