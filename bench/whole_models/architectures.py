# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The architectures: a layer or two of each, as `transformers`, `diffusers` and JAX have them.

Widths, heads and sequences are those of a published model. This needs the extra `models`.
"""

# The packages of the extra `models` are no part of a checkout's environment.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Built:
    """A model in float32 with random weights.

    Attributes:
        module: the PyTorch module.
        inputs: the shapes of the float inputs, by the names that `forward` has for them.
        others: the other arguments of `forward`.
    """

    module: Any
    inputs: Mapping[str, Shape]
    others: Mapping[str, Any] = field(default_factory=dict)


Build = Callable[[], Built]


def _decoder(kind: str, rows: int, **sizes: Any) -> Build:
    """Returns what builds a decoder of `transformers` that starts behind its embedding."""

    def build() -> Built:
        import transformers

        config = getattr(transformers, f"{kind}Config")(
            **{"vocab_size": 16, "num_hidden_layers": 1, "pad_token_id": None, **sizes}
        )
        module = getattr(transformers, f"{kind}Model")(config)
        width = config.hidden_size
        return Built(module, {"inputs_embeds": (1, rows, width)}, {"use_cache": False})

    return build


def _encoder(kind: str, inputs: Mapping[str, Shape], **sizes: Any) -> Build:
    """Returns what builds any other model of `transformers`."""

    def build() -> Built:
        import transformers

        known = kind.removesuffix("Encoder")
        config = getattr(transformers, f"{known}Config")(**sizes)
        return Built(getattr(transformers, f"{known}Model")(config), inputs)

    return build


def _bert(batch: int, rows: int) -> Build:
    def build() -> Built:
        import torch
        import transformers

        config = transformers.BertConfig(vocab_size=16, num_hidden_layers=2)
        module = transformers.BertModel(config, add_pooling_layer=False)
        # The last sequences of a batch are shorter, as in practice.
        lengths = torch.arange(batch)[:, None] * (rows // (2 * batch))
        mask = (torch.arange(rows)[None] < rows - lengths).long()
        width = config.hidden_size
        return Built(module, {"inputs_embeds": (batch, rows, width)}, {"attention_mask": mask})

    return build


def _t5(batch: int, rows: int, **sizes: Any) -> Build:
    def build() -> Built:
        import transformers

        config = transformers.T5Config(
            **{"vocab_size": 16, "num_layers": 1, "use_cache": False, **sizes}
        )
        module = transformers.T5EncoderModel(config)
        return Built(module, {"inputs_embeds": (batch, rows, config.d_model)})

    return build


def _clip_text() -> Built:
    import transformers
    from transformers.models.clip.modeling_clip import CLIPEncoder

    # The model itself takes tokens alone, which would have to be constants here: then the compiler
    # would compute all of it in advance.
    config = transformers.CLIPTextConfig(
        hidden_size=768, intermediate_size=3072, num_attention_heads=12, num_hidden_layers=2,
        vocab_size=64, bos_token_id=0, eos_token_id=2,
    )  # fmt: skip
    config._attn_implementation = "sdpa"
    others = {"attention_mask": None, "is_causal": True}
    return Built(CLIPEncoder(config), {"inputs_embeds": (8, 77, 768)}, others)


def _whisper() -> Built:
    import transformers
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = transformers.WhisperConfig(
        d_model=1280, encoder_attention_heads=20, encoder_ffn_dim=5120, encoder_layers=1,
        num_mel_bins=128, vocab_size=64, decoder_layers=1,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    return Built(WhisperEncoder(config), {"input_features": (1, 128, 3000)})


def _stable_diffusion(width: int, rows: int, head: int, context: int) -> Build:
    """Returns what builds the transformer block of a UNet: attentions to itself and to a text."""

    def build() -> Built:
        from diffusers.models.attention import BasicTransformerBlock

        module = BasicTransformerBlock(width, width // head, head, cross_attention_dim=context)
        shapes = {
            "hidden_states": (2, rows, width),
            "encoder_hidden_states": (2, 77, context),
        }
        return Built(module, shapes)

    return build


def _unet_resnet() -> Built:
    from diffusers.models.resnet import ResnetBlock2D

    module = ResnetBlock2D(in_channels=640, out_channels=320, temb_channels=1280)
    return Built(module, {"input_tensor": (2, 640, 64, 64), "temb": (2, 1280)})


def _dit() -> Built:
    import torch
    from diffusers.models.attention import BasicTransformerBlock

    module = BasicTransformerBlock(
        1152, 16, 72, norm_type="ada_norm_zero", num_embeds_ada_norm=1000, attention_bias=True,
        activation_fn="gelu-approximate", norm_elementwise_affine=False,
    )  # fmt: skip
    others = {"timestep": torch.tensor([10, 500]), "class_labels": torch.tensor([1, 7])}
    return Built(module, {"hidden_states": (2, 1024, 1152)}, others)


ARCHITECTURES: dict[str, Build] = {
    "llama": _decoder(
        "Llama", 1024, hidden_size=4096, num_attention_heads=32, num_key_value_heads=8,
        intermediate_size=14336, rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
    ),
    "mistral": _decoder(
        "Mistral", 1024, hidden_size=4096, num_attention_heads=32, num_key_value_heads=8,
        intermediate_size=14336, sliding_window=256,
    ),
    "qwen3": _decoder(
        "Qwen3", 1000, hidden_size=1024, num_attention_heads=16, num_key_value_heads=8,
        head_dim=128, intermediate_size=3072, num_hidden_layers=2,
    ),
    "gemma2": _decoder(
        "Gemma2", 1024, hidden_size=2304, num_attention_heads=8, num_key_value_heads=4,
        head_dim=256, intermediate_size=9216,
    ),
    "phi": _decoder(
        "Phi", 1024, hidden_size=2560, num_attention_heads=32, num_key_value_heads=32,
        intermediate_size=10240,
    ),
    "deepseek": _decoder(
        "DeepseekV3", 1024, hidden_size=2048, num_attention_heads=16, num_key_value_heads=16,
        intermediate_size=8192, first_k_dense_replace=1, q_lora_rank=None, kv_lora_rank=512,
        qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128,
    ),
    "gpt2": _decoder("GPT2", 1000, num_hidden_layers=2),
    "bert": _bert(8, 384),
    "t5": _t5(4, 512, d_model=768, d_kv=64, num_heads=12, d_ff=3072),
    "vit": _encoder("ViT", {"pixel_values": (8, 3, 224, 224)}, num_hidden_layers=2),
    "clip_text": _clip_text,
    "clip_vision": _encoder(
        "CLIPVision", {"pixel_values": (4, 3, 336, 336)}, hidden_size=1024,
        intermediate_size=4096, num_attention_heads=16, image_size=336, patch_size=14,
        num_hidden_layers=2,
    ),
    "swin": _encoder(
        "Swin", {"pixel_values": (8, 3, 224, 224)}, depths=[2, 2], num_heads=[3, 6],
    ),
    "whisper": _whisper,
    "resnet50": _encoder("ResNet", {"pixel_values": (8, 3, 224, 224)}, depths=[2, 2, 2, 2]),
    "convnext": _encoder("ConvNext", {"pixel_values": (8, 3, 224, 224)}, depths=[1, 1, 1, 1]),
    "unet_resnet": _unet_resnet,
    "unet_40": _stable_diffusion(320, 4096, 40, 768),
    "unet_80": _stable_diffusion(640, 1024, 80, 768),
    "sdxl_64": _stable_diffusion(1280, 1024, 64, 2048),
    "dit": _dit,
}  # fmt: skip
"""What builds each, by name."""

DTYPES: dict[str, tuple[str, ...]] = {
    "llama": ("f16", "bf16"),
    "mistral": ("bf16",),
    "qwen3": ("bf16",),
    "gemma2": ("bf16",),
    "phi": ("f16",),
    "deepseek": ("bf16",),
    "gpt2": ("f16", "f32"),
    "bert": ("f16", "f32"),
    "t5": ("f32", "bf16"),
    "vit": ("f16", "f32"),
}
"""The types of each; f16 where nothing is said."""

TINY: dict[str, Build] = {
    "llama": _decoder(
        "Llama", 20, hidden_size=32, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=48,
    ),
    "vit": _encoder(
        "ViT", {"pixel_values": (1, 1, 14, 14)}, hidden_size=24, num_attention_heads=2,
        intermediate_size=32, image_size=14, patch_size=2, num_channels=1, num_hidden_layers=1,
    ),
    "t5": _t5(1, 37, d_model=32, d_kv=20, num_heads=2, d_ff=48),
}  # fmt: skip
"""Small ones, which the tests run on the emulator, with fewer types than the others."""
TINY_DTYPES = {"llama": "f16", "vit": "bf16", "t5": "f32"}
