#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pergola {

enum class ResizeFilter { Bilinear, Bicubic, Lanczos };

/// Throws EngineError for a name that is not `bilinear`, `bicubic` or `lanczos`.
ResizeFilter resize_filter(const std::string& name);

struct ImageSize {
    size_t width = 0, height = 0;
    size_t bytes() const { return width * height * 3; }
};

/// Antialiased resize of 8-bit RGB pixels (rows of `width * 3` bytes). Equal bit by bit to `Image.resize` of Pillow before 13: a
/// horizontal pass, then a vertical one (the other way round for images more than 100 times as tall as wide), each rounded to 8 bits,
/// with weights in fixed point of 22 bits.
///
/// Rows between the passes are made when they are needed and kept only as long, so beside input and output there is no memory that
/// grows with the image's area. Large images use several threads.
std::vector<uint8_t> resize_image(const uint8_t* pixels, ImageSize size, ImageSize target, ResizeFilter filter);

}  // namespace pergola
