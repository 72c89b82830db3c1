"""Running a playbook as a computation: values in, values out. No await, clock, ids, random or logging here."""
