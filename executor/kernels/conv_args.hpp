// The one argument block of every convolution kernel; read by host and device compilers alike, so no includes.
#pragma once

namespace convcast {

/// Sizes in elements, NCHW input, KCRS filters, NKPQ output.
struct ConvArgs {
    int n, c, h, w, k, p, q;
    int filter_begin, filter_count; // filters of this launch: [begin, begin + count)
    int parts, pieces;              // SMs and pieces of the single-channel divisions
    int bank_floats, band_floats;   // shared-memory sizes of one buffer of filters and of map
    int tile_h, tile_k;             // rows and filters of a CTA where they are not compiled in
    int tile_begin, tile_count;     // winograd's tiles of this launch, over n, rows, columns
    int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
//: const float *bias, *added; // executor/network/conv_end.cuh
};

} // namespace convcast
