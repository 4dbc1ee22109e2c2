"""Where tests of GPU kernels run: on a GPU, else on the CPU through Triton's interpreter."""

import torch

GPU = torch.device("cuda" if torch.cuda.is_available() else "cpu")
