"""What to draw, and how to draw it: functions take matplotlib axes, and estimate nothing."""
