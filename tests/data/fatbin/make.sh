#!/usr/bin/env bash
# make.sh TOOLKIT PTXAS12 NVFATBIN12 TOOLKIT12: makes the files of this folder again. TOOLKIT is the root of CUDA 13.0, PTXAS12 the ptxas
# of CUDA 12.8, NVFATBIN12 libnvfatbin.so.12 of CUDA 12.9, TOOLKIT12 the root of CUDA 12.4 (its nvcc, fatbinary and nvlink are in Debian's
# nvidia-cuda-toolkit, its headers in nvidia-cuda-runtime-cu12 and nvidia-cuda-nvcc-cu12 of the package index).
set -euo pipefail
cd "$(dirname "$0")"
nvcc=$1/bin/nvcc
few=(-gencode arch=compute_80,code=sm_80 -gencode 'arch=compute_90,code=[sm_90,compute_90]')
many=(-gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a
      -gencode arch=compute_100f,code=sm_100f -gencode 'arch=compute_120,code=[sm_120,compute_120]')
"$nvcc" -fatbin saxpy.cu "${few[@]}" -o default.fatbin
"$nvcc" -fatbin saxpy.cu "${few[@]}" --compress-mode=none -o plain.fatbin
"$nvcc" -fatbin saxpy.cu "${many[@]}" -Xfatbin=-compress-all -o zstd.fatbin
"$nvcc" -fatbin saxpy.cu "${many[@]}" -Xfatbin=-compress-all --compress-mode=speed -o lz4.fatbin
"$nvcc" -fatbin saxpy.cu "${few[@]}" -lineinfo --compress-mode=none -o named.fatbin
"$nvcc" -fatbin saxpy.cu -arch=compute_80 -o ptx.fatbin
"$nvcc" -c main.cu -arch=sm_90 -dlto -o lto.o
"$nvcc" -dc dev.cu "${few[@]}" -o dev.o
"$nvcc" -dc uses.cu "${few[@]}" -o uses.o
"$nvcc" -dlink dev.o uses.o "${few[@]}" -o link.o
"$nvcc" -c main.cu "${few[@]}" -o main.o
ar rc rdc.a dev.o uses.o
ar rc mixed.a main.o uses.o link.o
# No static library of the runtime: a small executable.
"$nvcc" main.cu "${few[@]}" -cudart=none -Xlinker --unresolved-symbols=ignore-all -Xlinker -s -o host
"$nvcc" -rdc=true dev.cu uses.cu main.cu "${few[@]}" -cudart=none -Xlinker --unresolved-symbols=ignore-all -Xlinker -s -o host-rdc
rm dev.o link.o main.o
for sm in 75 80 90a 100a 120; do
    "$nvcc" -ptx -arch=compute_$sm saxpy.cu -o $sm.ptx
    sed -i 's/.version 9.0/.version 8.7/' $sm.ptx
    "$2" -arch=sm_$sm $sm.ptx -o $sm.cubin
done
python3 cuda12.py "$3"
rm ./*.ptx ./*.cubin
nvcc12=$4/bin/nvcc
specific=(-gencode arch=compute_80,code=sm_80 -gencode 'arch=compute_90a,code=[sm_90a,compute_90a]')
"$nvcc12" -dc dev.cu "${specific[@]}" -o dev.o
"$nvcc12" -dc uses.cu "${specific[@]}" -o cuda12-uses.o
"$nvcc12" -dlink dev.o cuda12-uses.o "${specific[@]}" -o cuda12-link.o
ar rc cuda12-rdc.a dev.o cuda12-uses.o
"$nvcc12" -c main.cu -gencode arch=compute_75,code=sm_75 -gencode arch=compute_90a,code=sm_90a -Xfatbin=-compress-all -o cuda12-main.o
rm dev.o cuda12-uses.o
python3 record.py "$1/bin/cuobjdump" > cuobjdump.txt
