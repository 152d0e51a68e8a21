def diagnose_wrong(*a): pass
