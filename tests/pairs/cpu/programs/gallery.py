"""Makes small pictures for a gallery with Pillow, in four threads."""
import concurrent.futures
import io
import sys

from PIL import Image, ImageFilter


def make(path):
    image = Image.effect_mandelbrot((2400, 1600), (-2, -1.2, 1, 1.2), 80)
    Image.merge("RGB", (image, image.filter(ImageFilter.BLUR), image.rotate(180))).save(path, quality=92)


def small(path, size):
    with Image.open(path) as image:
        image.thumbnail((size, size), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        image.save(buffer, "PNG", optimize=True)
    return len(buffer.getvalue())


def main(path):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        sizes = list(pool.map(lambda size: small(path, size), range(400, 700, 10)))
    print(len(sizes), "pictures", "ok" if sum(sizes) > 1000 else "bad")


if __name__ == "__main__":
    if sys.argv[2:] == ["make"]:
        make(sys.argv[1])
    else:
        main(sys.argv[1])
