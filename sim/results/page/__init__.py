"""Reports as one HTML file that needs nothing besides itself: parts.py says what a page is made of, render.py makes the
file, experiment.py lays out the page of an experiment."""
