"""The function of the study that version 0.2 ran."""


def area(width, height, unit="m"):
    if width < 0:
        raise ValueError("negative width")
    return {"area": width * height, "good": width * height > 2, "text": unit}
