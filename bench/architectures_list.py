"""The architectures that architectures.py exports: name -> a function that makes (module, inputs, the inputs' names).

torchvision's and transformers' own definitions with drawn weights, transformers of a few layers each, and small networks of kinds that
neither has. Sizes are the usual ones, odd ones and batches.
"""

import torch
import torchvision
import transformers
from torch import nn
from torch.nn import functional


def picture(*shape):
    return torch.rand(*shape) * 2 - 1


def vision(name, shape=(1, 3, 224, 224), **options):
    return lambda: (torchvision.models.get_model(name, weights=None, **options), [picture(*shape)], ["x"])


class Pick(nn.Module):
    """One output of a module that has several."""

    def __init__(self, module, pick, names=None):
        super().__init__()
        self.module, self.pick, self.names = module, pick, names

    def forward(self, *values):
        out = self.module(*values) if self.names is None else self.module(**dict(zip(self.names, values)))
        return out[self.pick]


def segmentation(name, shape=(1, 3, 320, 320)):
    def make():
        module = torchvision.models.get_model(name, weights=None, weights_backbone=None)
        return Pick(module, "out"), [picture(*shape)], ["x"]
    return make


def hugging(kind, inputs, pick=0, config=None, **options):
    """A model of transformers, `inputs` by name: the shape of floats, or ("ids", shape), or ("ones", shape)."""
    def make():
        made = getattr(transformers, config or kind.removesuffix("Model") + "Config")(**options)
        for name, value in (("use_cache", False), ("return_dict", True), ("_attn_implementation", "eager")):
            setattr(made, name, value)
        values = []
        for given in inputs.values():
            if given[0] == "ids":
                values.append(torch.randint(0, 100, given[1]))
            elif given[0] == "ones":
                values.append(torch.ones(given[1], dtype=torch.int64))
            else:
                values.append(picture(*given))
        return Pick(getattr(transformers, kind)(made), pick, list(inputs)), values, list(inputs)
    return make


def text(length=128, batch=1, mask=True):
    ids = {"input_ids": ("ids", (batch, length))}
    return {**ids, "attention_mask": ("ones", (batch, length))} if mask else ids


def pixels(size=224):
    return {"pixel_values": (1, 3, size, size)}


def sound(samples=16000):
    return {"input_values": (1, samples)}


def plain(make, *shapes, ids=False):
    def made():
        values = [torch.randint(0, 100, shape) if ids else picture(*shape) for shape in shapes]
        return make(), values, [f"x{i}" for i in range(len(shapes))]
    return made


class Residual(nn.Module):
    def __init__(self, *parts):
        super().__init__()
        self.parts = nn.Sequential(*parts)

    def forward(self, x):
        return x + self.parts(x)


class Turned(nn.Module):
    """Its parts, on the two last axes exchanged."""

    def __init__(self, *parts):
        super().__init__()
        self.parts = nn.Sequential(*parts)

    def forward(self, x):
        return self.parts(x.transpose(1, 2)).transpose(1, 2)


class TokensFirst(nn.Module):
    """Its parts, on a picture's patches as rows."""

    def __init__(self, *parts):
        super().__init__()
        self.parts = nn.Sequential(*parts)

    def forward(self, x):
        return self.parts(x.transpose(1, 2))


class Joined(nn.Module):
    """Branches of one input, side by side."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


class Last(nn.Module):
    """The first result of a recurrent module."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)[0]


class Gated(nn.Module):
    """A dilated causal convolution along a signal, gated, as in WaveNet."""

    def __init__(self, dilation):
        super().__init__()
        self.dilation = dilation
        self.filter, self.out = nn.Conv1d(64, 128, 3, dilation=dilation), nn.Conv1d(64, 64, 1)

    def forward(self, x):
        a, b = self.filter(functional.pad(x, (2 * self.dilation, 0))).chunk(2, 1)
        return x + self.out(torch.tanh(a) * torch.sigmoid(b))


class Branches(nn.Module):
    """A 3 x 3, a 1 x 1 and perhaps nothing, added, as RepVGG trains."""

    def __init__(self, into, out, stride):
        super().__init__()
        self.wide = nn.Sequential(nn.Conv2d(into, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out))
        self.point = nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))
        self.same = nn.BatchNorm2d(into) if into == out and stride == 1 else None

    def forward(self, x):
        y = self.wide(x) + self.point(x)
        return torch.relu(y if self.same is None else y + self.same(x))


class UNet(nn.Module):
    """Down by strided and up by transposed convolutions with instance normalisation, as pix2pix."""

    def __init__(self):
        super().__init__()
        widths = [3, 64, 128, 256, 512]
        self.down = nn.ModuleList(nn.Sequential(nn.Conv2d(a, b, 4, 2, 1), nn.InstanceNorm2d(b, affine=True), nn.LeakyReLU(0.2))
                                  for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(nn.Sequential(nn.ConvTranspose2d(a, b, 4, 2, 1), nn.InstanceNorm2d(b, affine=True), nn.ReLU())
                                for a, b in ((512, 256), (512, 128), (256, 64)))
        self.out = nn.ConvTranspose2d(128, 3, 4, 2, 1)

    def forward(self, x):
        kept = []
        for down in self.down:
            x = down(x)
            kept.append(x)
        for up, other in zip(self.up, reversed(kept[:-1])):
            x = torch.cat((up(x), other), 1)
        return torch.tanh(self.out(x))


class Pyramid(nn.Module):
    """A detector: cross-stage parts, pooling of three sizes, and two scales joined upwards, as YOLO v5."""

    def __init__(self):
        super().__init__()
        self.fine = nn.Sequential(block(3, 32, 5, 2), block(32, 64, 3, 2), Stage(64, 64), block(64, 128, 3, 2), Stage(128, 128))
        self.coarse = nn.Sequential(block(128, 256, 3, 2), Stage(256, 256), block(256, 256), Pools(256))
        self.up, self.join = nn.Upsample(scale_factor=2), Stage(384, 128)
        self.head = nn.Conv2d(128, 255, 1)

    def forward(self, x):
        fine = self.fine(x)
        y = self.head(self.join(torch.cat((self.up(self.coarse(fine)), fine), 1)))
        return y.view(1, 3, 85, y.shape[2], y.shape[3]).permute(0, 1, 3, 4, 2).sigmoid()


def block(into, out, kernel=1, stride=1):
    return nn.Sequential(nn.Conv2d(into, out, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(out), nn.SiLU())


class Stage(nn.Module):
    def __init__(self, into, out):
        super().__init__()
        half = out // 2
        inner = nn.Sequential(block(into, half), Residual(block(half, half), block(half, half, 3)))
        self.parts = nn.Sequential(Joined(inner, block(into, half)), block(2 * half, out))

    def forward(self, x):
        return self.parts(x)


class Pools(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.last, self.pool = block(width, width // 2), block(width * 2, width), nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        x = self.first(x)
        y = self.pool(x)
        z = self.pool(y)
        return self.last(torch.cat((x, y, z, self.pool(z)), 1))


class Graph(nn.Module):
    """A layer of a graph network: messages along edges are gathered and added up."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(256, 128), nn.Linear(128, 16)

    def forward(self, x, edges):
        ends = (edges * 499 + 500).long()
        y = self.first(x)
        return functional.log_softmax(self.second(torch.relu(y.index_add(0, ends[1], y[ends[0]]))), 1)


def mixer():
    mix = [nn.Sequential(Residual(nn.LayerNorm(512), Turned(nn.Linear(196, 256), nn.GELU(), nn.Linear(256, 196))),
                         Residual(nn.LayerNorm(512), nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512))) for _ in range(4)]
    return nn.Sequential(nn.Conv2d(3, 512, 16, 16), nn.Flatten(2), TokensFirst(*mix))


def conv_mixer():
    layers = [nn.Sequential(Residual(nn.Conv2d(256, 256, 9, groups=256, padding=4), nn.GELU(), nn.BatchNorm2d(256)), nn.Conv2d(256, 256, 1),
                            nn.GELU(), nn.BatchNorm2d(256)) for _ in range(4)]
    return nn.Sequential(nn.Conv2d(3, 256, 7, 7), nn.GELU(), nn.BatchNorm2d(256), *layers)


def separable(into, out):
    return nn.Sequential(nn.ReLU(), nn.Conv2d(into, into, 3, 1, 1, groups=into, bias=False), nn.Conv2d(into, out, 1, bias=False),
                         nn.BatchNorm2d(out))


class Entry(nn.Module):
    def __init__(self, into, out):
        super().__init__()
        self.long = nn.Sequential(separable(into, out), separable(out, out), nn.MaxPool2d(3, 2, 1))
        self.short = nn.Sequential(nn.Conv2d(into, out, 1, 2, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return self.long(x) + self.short(x)


def xception():
    return nn.Sequential(nn.Conv2d(3, 32, 3, 2), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3), Entry(64, 128), Entry(128, 256),
                         Entry(256, 728), separable(728, 728), separable(728, 728), nn.AdaptiveAvgPool2d(1))


def ghost(into, out, stride=1):
    half = out // 2
    cheap = nn.Sequential(nn.Conv2d(half, half, 3, 1, 1, groups=half), nn.BatchNorm2d(half), nn.ReLU())
    return nn.Sequential(nn.Conv2d(into, half, 1, stride), nn.BatchNorm2d(half), nn.ReLU(), Joined(nn.Identity(), cheap))


def ghost_net():
    widths = [(16, 48, 1), (48, 24, 2), (24, 72, 1), (72, 40, 2), (40, 120, 1), (120, 80, 2), (80, 240, 1), (240, 112, 1), (112, 672, 1),
              (672, 160, 2), (160, 960, 1)]
    return nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), *[ghost(*w) for w in widths], nn.AdaptiveAvgPool2d(1), nn.Hardswish())


def generator():
    up = [part for w in (512, 256, 128) for part in (nn.ConvTranspose2d(w, w // 2, 4, 2, 1), nn.BatchNorm2d(w // 2), nn.ReLU())]
    return nn.Sequential(nn.ConvTranspose2d(100, 512, 4), nn.BatchNorm2d(512), nn.ReLU(), *up, nn.ConvTranspose2d(64, 3, 4, 2, 1),
                         nn.Tanh())


def decoder():
    def part(width):
        return nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, width, 3, 1, 1))
    return nn.Sequential(nn.Conv2d(4, 256, 3, 1, 1), part(256), part(256), nn.Upsample(scale_factor=2), nn.Conv2d(256, 128, 3, 1, 1),
                         part(128), nn.Upsample(scale_factor=2), nn.Conv2d(128, 64, 3, 1, 1), part(64), nn.Conv2d(64, 3, 3, 1, 1))


def denoiser():
    inner = [part for _ in range(8) for part in (nn.Conv2d(64, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU())]
    return nn.Sequential(nn.Conv2d(1, 64, 3, 1, 1), nn.ReLU(), *inner, nn.Conv2d(64, 1, 3, 1, 1))


def rep_vgg():
    widths = [(3, 48, 2), (48, 48, 2), (48, 48, 1), (48, 96, 2), (96, 96, 1), (96, 192, 2), (192, 192, 1)]
    return nn.Sequential(*[Branches(*w) for w in widths], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(192, 1000))


def tagger():
    return nn.Sequential(nn.Embedding(5000, 128), Last(nn.LSTM(128, 256, 2, bidirectional=True, batch_first=True)), nn.Linear(512, 20))


def table_net():
    return nn.Sequential(nn.BatchNorm1d(30), nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())


def field():
    return nn.Sequential(nn.Linear(63, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 4))


def encoder():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True, norm_first=True), 4, enable_nested_tensor=False)


def wave_net():
    return nn.Sequential(nn.Conv1d(1, 64, 1), *[Gated(2 ** (i % 8)) for i in range(16)], nn.ReLU(), nn.Conv1d(64, 256, 1))


FEW = {"num_hidden_layers": 3}
SMALL_DECODER = {"num_hidden_layers": 3, "hidden_size": 768, "num_attention_heads": 12}

ARCHITECTURES = {
    "tv_googlenet": vision("googlenet", aux_logits=False, init_weights=False), "tv_alexnet": vision("alexnet"),
    "tv_vgg11_bn": vision("vgg11_bn"), "tv_shufflenet_v2_x0_5": vision("shufflenet_v2_x0_5"), "tv_mnasnet1_0": vision("mnasnet1_0"),
    "tv_resnext50": vision("resnext50_32x4d"), "tv_wide_resnet50": vision("wide_resnet50_2"),
    "tv_efficientnet_b3": vision("efficientnet_b3", (1, 3, 300, 300)), "tv_maxvit_t": vision("maxvit_t"),
    "tv_regnet_x_3_2gf": vision("regnet_x_3_2gf"), "tv_lraspp": segmentation("lraspp_mobilenet_v3_large"),
    "tv_resnet18_batch8": vision("resnet18", (8, 3, 224, 224)),
    "tv_mobilenet_v3_small_batch4": vision("mobilenet_v3_small", (4, 3, 224, 224)),
    "tv_efficientnet_b0_odd": vision("efficientnet_b0", (1, 3, 193, 257)), "tv_resnet34_wide": vision("resnet34", (1, 3, 384, 640)),
    "tv_densenet201_160": vision("densenet201", (1, 3, 160, 160)), "tv_convnext_small": vision("convnext_small"),
    "distilbert": hugging("DistilBertModel", text(), n_layers=4), "mobilebert": hugging("MobileBertModel", text(), num_hidden_layers=6),
    "deberta_v2": hugging("DebertaV2Model", text(), num_hidden_layers=3, hidden_size=768, num_attention_heads=12, intermediate_size=3072,
        relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=256, norm_rel_ebd="layer_norm", share_att_key=True),
    "squeezebert": hugging("SqueezeBertModel", text(), num_hidden_layers=4), "roformer": hugging("RoFormerModel", text(), **FEW),
    "funnel": hugging("FunnelBaseModel", text(), config="FunnelConfig", block_sizes=[2, 2, 2]),
    "convbert": hugging("ConvBertModel", text(), **FEW),
    "xlnet": hugging("XLNetModel", text(mask=False), n_layer=3, d_model=768, n_head=12, d_inner=3072),
    "fnet": hugging("FNetModel", text(mask=False), **FEW),
    "modernbert": hugging("ModernBertModel", text(), num_hidden_layers=6), "bert_7": hugging("BertModel", text(7), **FEW),
    "bert_batch4": hugging("BertModel", text(32, 4), **FEW),
    "t5_encoder": hugging("T5EncoderModel", text(), config="T5Config", num_layers=4),
    "gpt_neox": hugging("GPTNeoXModel", text(64, mask=False), intermediate_size=3072, **SMALL_DECODER),
    "bloom": hugging("BloomModel", text(64, mask=False), n_layer=3, hidden_size=768, n_head=12),
    "falcon": hugging("FalconModel", text(64, mask=False), **SMALL_DECODER),
    "qwen2": hugging("Qwen2Model", text(64, mask=False), num_hidden_layers=3, hidden_size=896, num_attention_heads=14,
        num_key_value_heads=2, intermediate_size=4864), "poolformer": hugging("PoolFormerModel", pixels()),
    "cvt": hugging("CvtModel", pixels(), depth=[1, 2, 4]), "bit": hugging("BitModel", pixels()),
    "dinov2": hugging("Dinov2Model", pixels(), hidden_size=384, num_attention_heads=6, num_hidden_layers=6),
    "hiera": hugging("HieraModel", pixels()), "mobilenet_v1": hugging("MobileNetV1Model", pixels()),
    "mobilenet_v2_os8": hugging("MobileNetV2Model", pixels(), output_stride=8), "pvt_v2": hugging("PvtV2Model", pixels()),
    "convnext_v2": hugging("ConvNextV2Model", pixels()), "focalnet": hugging("FocalNetModel", pixels()),
    "glpn": hugging("GLPNForDepthEstimation", pixels(320), config="GLPNConfig"), "swin_v2": hugging("Swinv2Model", pixels(256)),
    "rt_detr": hugging("RTDetrForObjectDetection", pixels(320), "logits", config="RTDetrConfig"),
    "clipseg": hugging("CLIPSegForImageSegmentation", {"input_ids": ("ids", (1, 16)), **pixels()}, "logits", config="CLIPSegConfig"),
    "wav2vec2": hugging("Wav2Vec2Model", sound(), num_hidden_layers=4),
    "ast": hugging("ASTModel", {"input_values": (1, 1024, 128)}, num_hidden_layers=2),
    "hifigan": hugging("SpeechT5HifiGan", {"spectrogram": (50, 80)}, config="SpeechT5HifiGanConfig"),
    "encodec": hugging("EncodecModel", {"input_values": (1, 1, 24000)}, "audio_values"),
    "dac": hugging("DacModel", {"input_values": (1, 1, 8192)}, "audio_values"),
    "mamba": hugging("MambaModel", text(32, mask=False), num_hidden_layers=2, hidden_size=512),
    "patch_tst": hugging("PatchTSTModel", {"past_values": (1, 512, 7)}, context_length=512, num_input_channels=7, patch_length=16,
        patch_stride=8, num_hidden_layers=3), "mixer": plain(mixer, (1, 3, 224, 224)), "conv_mixer": plain(conv_mixer, (1, 3, 224, 224)),
    "detector": plain(Pyramid, (1, 3, 320, 320)), "xception": plain(xception, (1, 3, 299, 299)),
    "ghost_net": plain(ghost_net, (1, 3, 224, 224)), "wave_net": plain(wave_net, (1, 1, 8000)),
    "generator": plain(generator, (1, 100, 1, 1)), "u_net": plain(UNet, (1, 3, 256, 256)), "graph": plain(Graph, (1000, 256), (2, 5000)),
    "tagger": plain(tagger, (1, 60), ids=True), "denoiser": plain(denoiser, (1, 1, 180, 180)), "decoder": plain(decoder, (1, 4, 32, 32)),
    "rep_vgg": plain(rep_vgg, (1, 3, 224, 224)), "encoder_batch8": plain(encoder, (8, 64, 256)), "field": plain(field, (4096, 63)),
    "table": plain(table_net, (1, 30)),
}

# Forms in which some are measured too: statically and dynamically quantised, and in halves, by onnxruntime's own tools.
QUANTISED = {"tv_googlenet", "tv_resnext50", "tv_efficientnet_b3", "tv_lraspp", "tv_resnet18_batch8", "poolformer", "pvt_v2", "convnext_v2",
             "detector", "rep_vgg", "xception", "conv_mixer", "u_net"}
DYNAMIC = {"distilbert", "deberta_v2", "t5_encoder", "qwen2", "wav2vec2", "tagger", "bert_batch4"}
HALVES = {"distilbert", "convnext_v2", "tv_resnet18_batch8", "u_net", "tv_shufflenet_v2_x0_5"}
