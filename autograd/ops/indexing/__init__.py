"""Entries picked, put and joined.

rows        rows picked by ids, as an embedding does
placing     numbers written or added at an index
join        joining and cutting: stack, concatenate, split
"""
