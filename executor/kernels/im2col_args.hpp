// What host and device share to lay out columns; read by both compilers, so no includes.
#pragma once

namespace convcast {

/// Sizes in elements; `images` from the first on.
struct Im2colArgs {
    long long images, c, h, w, p, q;
    int r, s;
    int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

} // namespace convcast
