# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""A Backpack (Hewitt et al. 2023) for make_models.py: transformers has none, and its GPT-2 is the trunk of one."""
import torch
import transformers
from torch import nn
from transformers.modeling_outputs import CausalLMOutput
from transformers.pytorch_utils import Conv1D


class BackpackConfig(transformers.GPT2Config):
    model_type = "backpack-gpt2"

    def __init__(self, num_senses=16, sense_intermediate_scale=4, scale_attn_by_inverse_layer_idx=True, **kwargs):
        super().__init__(scale_attn_by_inverse_layer_idx=scale_attn_by_inverse_layer_idx, **kwargs)
        self.num_senses = num_senses
        self.sense_intermediate_scale = sense_intermediate_scale


class Mlp(nn.Module):
    def __init__(self, width, inner, out):
        super().__init__()
        self.c_fc = Conv1D(inner, width)
        self.c_proj = Conv1D(out, inner)

    def forward(self, x):
        return self.c_proj(nn.functional.gelu(self.c_fc(x), approximate="tanh"))


class Mixing(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, eps)
        self.ln_2 = nn.LayerNorm(width, eps)
        self.mlp = Mlp(width, 4 * width, width)

    def forward(self, x):
        return self.ln_2(x + self.mlp(self.ln_1(x)))


class SenseNetwork(nn.Module):
    """[batch, position, width] to [batch, position, sense, width], each position alone."""

    def __init__(self, config):
        super().__init__()
        width = config.n_embd
        self.shape = (config.num_senses, width)
        self.ln = nn.LayerNorm(width, config.layer_norm_epsilon)
        self.block = Mixing(width, config.layer_norm_epsilon)
        self.final_mlp = Mlp(width, config.sense_intermediate_scale * width, config.num_senses * width)

    def forward(self, embedded):
        return self.final_mlp(self.block(embedded + self.ln(embedded))).unflatten(-1, self.shape)


class SenseWeights(nn.Module):
    """[batch, position, width] to [batch, sense, position, earlier position], which add up to one."""

    def __init__(self, config):
        super().__init__()
        self.shape = (2, config.num_senses, config.n_embd // config.num_senses)
        self.c_attn = nn.Linear(config.n_embd, 2 * config.num_senses * self.shape[2])

    def forward(self, states):
        query, key = self.c_attn(states).unflatten(-1, self.shape).unbind(2)
        scores = torch.einsum("btsd,busd->bstu", query, key) / self.shape[2] ** 0.5
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return scores.masked_fill(later, -torch.inf).softmax(-1)


class Trunk(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gpt2_model = transformers.GPT2Model(config)
        self.sense_network = SenseNetwork(config)
        self.sense_weight_net = SenseWeights(config)


class BackpackForCausalLM(transformers.PreTrainedModel):
    config_class = BackpackConfig

    def __init__(self, config):
        super().__init__(config)
        self.backpack = Trunk(config)

    def forward(self, ids, labels=None, output_hidden_states=False):
        trunk, embedding = self.backpack, self.backpack.gpt2_model.wte
        found = trunk.gpt2_model(ids, output_hidden_states=True, use_cache=False)
        weights = trunk.sense_weight_net(found.last_hidden_state)
        mixed = torch.einsum("bstu,busd->btd", weights, trunk.sense_network(embedding(ids)))
        logits = mixed @ embedding.weight.T
        loss = None if labels is None else nn.functional.cross_entropy(
            logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return CausalLMOutput(loss=loss, logits=logits, hidden_states=found.hidden_states)


transformers.AutoConfig.register("backpack-gpt2", BackpackConfig)
transformers.AutoModelForCausalLM.register(BackpackConfig, BackpackForCausalLM)
