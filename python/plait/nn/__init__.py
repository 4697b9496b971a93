"""Layers, as Modules with PyTorch's names and arguments, initialised from a key or else from the default stream of
plait.random.seed. Activations and everything else without weights are functions of plait itself, too."""

from plait.inside.help.names import of_public_module as _of_public_module
from plait.inside.layers.activations import (  # noqa: F401
    ReLU, ReLU6, SELU, SiLU, Mish, Sigmoid, LogSigmoid, Tanh, Softsign, Hardswish, Hardsigmoid, Tanhshrink, LeakyReLU, ELU, CELU, GELU, Softplus,
    Softshrink, Hardshrink, Hardtanh, Threshold, PReLU, RReLU)
from plait.inside.layers.adaptive_softmax import AdaptiveLogSoftmaxWithLoss  # noqa: F401
from plait.inside.layers.attention import Attention, KeyValueCache, Mlp, MultiheadAttention  # noqa: F401
from plait.inside.layers.batch_normalization import (  # noqa: F401
    BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)
from plait.inside.layers.convolution import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d  # noqa: F401
from plait.inside.layers.distances import CosineSimilarity, PairwiseDistance  # noqa: F401
from plait.inside.layers.dropout import Dropout, Dropout1d, Dropout2d, Dropout3d, AlphaDropout, FeatureAlphaDropout, DropPath  # noqa: F401
from plait.inside.layers.embedding import Embedding, EmbeddingBag  # noqa: F401
from plait.inside.layers.experts import GatedMlp, MoE, MoELosses  # noqa: F401
from plait.inside.layers.lazy import (  # noqa: F401
    LazyLinear, LazyConv1d, LazyConv2d, LazyConv3d, LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d, LazyBatchNorm1d,
    LazyBatchNorm2d, LazyBatchNorm3d, LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d)
from plait.inside.layers.linear import Identity, Linear, Bilinear  # noqa: F401
from plait.inside.layers.normalization import LayerNorm, RMSNorm, GroupNorm, LocalResponseNorm, CrossMapLRN2d  # noqa: F401
from plait.inside.layers.padding import (  # noqa: F401
    ZeroPad1d, ZeroPad2d, ZeroPad3d, ConstantPad1d, ConstantPad2d, ConstantPad3d, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d,
    ReplicationPad1d, ReplicationPad2d, ReplicationPad3d, CircularPad1d, CircularPad2d, CircularPad3d)
from plait.inside.layers.pooling import (  # noqa: F401
    MaxPool1d, MaxPool2d, MaxPool3d, AvgPool1d, AvgPool2d, AvgPool3d, LPPool1d, LPPool2d, LPPool3d, AdaptiveAvgPool1d, AdaptiveAvgPool2d,
    AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d)
from plait.inside.layers.positions import ALiBi, RoPE, SinusoidalEmbedding  # noqa: F401
from plait.inside.layers.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell  # noqa: F401
from plait.inside.layers.resampling import Upsample, UpsamplingNearest2d, UpsamplingBilinear2d  # noqa: F401
from plait.inside.layers.shapes import Flatten, Unflatten, PixelShuffle, PixelUnshuffle, ChannelShuffle, Unfold, Fold  # noqa: F401
from plait.inside.layers.softmaxes import Softmax, LogSoftmax, Softmin, Softmax2d, GLU, SwiGLU  # noqa: F401
from plait.inside.layers.transformer import (  # noqa: F401
    Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer)
from plait.inside.layers.unpooling import MaxUnpool1d, MaxUnpool2d, MaxUnpool3d, FractionalMaxPool2d, FractionalMaxPool3d  # noqa: F401
from plait.inside.losses.class_losses import (  # noqa: F401
    BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, CTCLoss, MultiLabelMarginLoss, MultiLabelSoftMarginLoss, MultiMarginLoss, NLLLoss, NLLLoss2d,
    cross_entropy)
from plait.inside.losses.distance_losses import (  # noqa: F401
    CosineEmbeddingLoss, GaussianNLLLoss, HingeEmbeddingLoss, HuberLoss, KLDivLoss, L1Loss, MarginRankingLoss, MSELoss, PoissonNLLLoss,
    SmoothL1Loss, SoftMarginLoss, TripletMarginLoss, TripletMarginWithDistanceLoss, triplet_margin_with_distance_loss)
from plait.inside.losses.linear_cross_entropy import LinearCrossEntropyLoss, linear_cross_entropy  # noqa: F401
from plait.inside.losses.more_losses import (  # noqa: F401
    dice_loss, hinge_loss, info_nce, log_cosh, nt_xent, sigmoid_focal_loss, softmax_focal_loss)
from plait.inside.losses.optax_losses import (  # noqa: F401
    convex_kl_divergence, generalized_kl_divergence, make_fenchel_young_loss, multiclass_generalized_dice_loss, multiclass_perceptron_loss,
    multiclass_sparsemax_loss, perceptron_loss, poly_loss_cross_entropy, ranking_softmax_loss, sparsemax_loss)
from plait.inside.models.adapters import LoRALinear, lora, merge_lora  # noqa: F401
from plait.inside.models.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential  # noqa: F401
from plait.inside.models.parameter import Parameter  # noqa: F401
from plait.inside.models.orthogonal import orthogonal  # noqa: F401
from plait.inside.models.parametrizations import parametrize, remove_parametrizations, spectral_norm, weight_norm  # noqa: F401
from plait.inside.models.quantized import QuantizedEmbedding, QuantizedLinear, quantize  # noqa: F401
from plait.inside.models.state import call, freeze, load_state, state, unfreeze  # noqa: F401
from plait.inside.trees.buffers import Buffer  # noqa: F401
from plait.inside.trees.module import Module  # noqa: F401
from plait.nn import init, utils  # noqa: F401

__getattr__, __dir__, __all__ = _of_public_module(globals())
