"""What runs leave and what is made of it: records, tables, figures, reports, comparisons, plots and pages."""
