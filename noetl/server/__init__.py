"""The HTTP face: routes over the product's own interface. What happens behind it is none of its business."""
