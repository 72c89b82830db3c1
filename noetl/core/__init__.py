"""Running a playbook as a computation: values in, values out. No await, clock, random or logging."""
