"""all_reduce_torch.py RANK SIZE FOLDER BYTES, one process for each rank: torch.distributed with gloo. The same loop as in all_reduce.h."""

import sys
import time

import torch
import torch.distributed as dist

rank, size, folder, most = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{folder}/torch", rank=rank, world_size=size)
length = 4
while length <= most:
    x = torch.zeros(length // 4)
    calls = 2000 if length <= 64 << 10 else 100 if length <= 4 << 20 else 10 if length <= 64 << 20 else 4
    for _ in range(calls // 4 + 1):
        dist.all_reduce(x.fill_(1))
        if x[-1] != size:
            sys.exit(f"a wrong sum of {length // 4} elements")
    x.zero_()  # so that sums stay finite
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(x)
    spent = (time.perf_counter() - begin) / calls
    if rank == 0:
        print(length, f"{spent * 1e6:.3f}", flush=True)
    dist.barrier()
    length *= 4
dist.destroy_process_group()
