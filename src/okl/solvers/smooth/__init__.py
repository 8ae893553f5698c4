"""The best L for any smooth loss: models with the squared loss, and Newton steps."""
