"""capture of a torch model: one real run recorded, and torch's own backward pass over it.

record          parameters and inputs named, one run recorded, everything put back (`state`)
recorder        each operator as torch calls it, beside our own ops for it; `opaque`: an op for those that we lack
memory          which Value each tensor stands for, also where tensors share memory; `followed`: masks, detached ones
hooks           calls of modules and of autograd.Functions; `calls`: one call, which can be made again
backward        torch's backward pass: what each call received and sent; `whole`: how torch's own loss moves
tensors         small questions to torch
"""
