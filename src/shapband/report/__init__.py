"""What to draw, and how to draw it. Functions take matplotlib axes; nothing here computes estimates."""
