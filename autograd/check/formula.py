def check_formula(): pass
