"""Writing files and pages.

files       files written whole or not at all, in the form that their ending names
pages       what every HTML page is made of: assets, templates, data inside a script
browser     the Chromium of this machine: it writes PNG and PDF files, and tests drive pages in it
"""
