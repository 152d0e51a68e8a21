"""A sheet as a file.

plain       Markdown and CSV
page        HTML, for paper and screen; `page_data`: what a page that marks itself reads
workbook    xlsx
moodle      Moodle XML
"""
