"""Which implementation fills which port. Embedded and distributed differ here and nowhere else."""
