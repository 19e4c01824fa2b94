"""The results of runs and what is made of them: records, tables, figures, reports, comparisons, plots and pages."""
