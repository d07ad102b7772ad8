//! The SASS instruction set as data: encoder, decoder, printer, parser, special registers, latencies.
