"""What a learner handed in, judged.

answers     what was written, from a dict, a CSV, a JSON or an xlsx file
intervals   numbers that may have been rounded
grading     `grade`: each number judged from the learner's own earlier numbers
slips       which classic mistake gives the number that was written
report      marks as text, HTML and JSON
"""
