# docker build -t oriole . && docker run --rm -v "$PWD:/work" oriole compile kernel.ptx -o kernel.cubin --arch sm_90
FROM rust:1-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --release -p oriole-cli

FROM debian:bookworm-slim
COPY --from=build /src/target/release/oriole /usr/local/bin/oriole
RUN ln -s oriole /usr/local/bin/ptxas
WORKDIR /work
ENTRYPOINT ["oriole"]
