"""Upper-body motion [Alvarado2022]: antagonistic joint control, and anticipation of obstacles."""
