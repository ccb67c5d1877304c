#!/usr/bin/env python3
"""Writes whole models as their users export them, with random weights: exports.py FOLDER [NAME ...].

Needs torch, torchvision, transformers, onnxscript, onnx and onnxruntime. The architectures have their real depth and operators;
widths are the libraries' defaults. bench/models.py auto shows what tpat makes of them."""
import os
import sys
import warnings

import numpy
import onnx
import torch

MODELS = {}


def model(make):
    MODELS[make.__name__] = make
    return make


def export(module, inputs, path, names, axes, opset=17, outputs=None):
    torch.onnx.export(module.eval(), inputs, path, dynamo=False, opset_version=opset, input_names=names, output_names=outputs,
                      dynamic_axes=axes)


def export_dynamo(module, inputs, path, names, shapes, opset=18):
    torch.onnx.export(module.eval(), inputs, path, dynamo=True, opset_version=opset, input_names=names, dynamic_shapes=shapes,
                      external_data=False)


@model
def faster_rcnn(path):
    import torchvision
    net = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None)
    export(net, ([torch.rand(3, 320, 320)],), path, ["image"], {"image": {1: "H", 2: "W"}}, opset=11)


@model
def mask_rcnn(path):
    import torchvision
    net = torchvision.models.detection.maskrcnn_resnet50_fpn(weights=None, weights_backbone=None)
    export(net, ([torch.rand(3, 320, 320)],), path, ["image"], {"image": {1: "H", 2: "W"}}, opset=11)


def mobilenet(path):
    import torchvision
    net = torchvision.models.mobilenet_v2(weights=None)
    export(net, (torch.rand(1, 3, 224, 224),), path, ["image"], {"image": {0: "N"}}, opset=13)


@model
def mobilenet_uint8(path):
    """Quantised by ONNX Runtime, with uint8 activations and weights."""
    from onnxruntime import quantization as q

    class Images(q.CalibrationDataReader):
        def __init__(self):
            self.left = [{"image": numpy.random.rand(1, 3, 224, 224).astype(numpy.float32)} for _ in range(4)]

        def get_next(self):
            return self.left.pop() if self.left else None

    mobilenet(path + ".float")
    q.quantize_static(path + ".float", path, Images(), quant_format=q.QuantFormat.QDQ, activation_type=q.QuantType.QUInt8,
                      weight_type=q.QuantType.QUInt8)
    os.remove(path + ".float")


@model
def bert_dynamic(path):
    from onnxruntime import quantization as q
    from transformers import BertConfig, BertModel
    net = BertModel(BertConfig(num_hidden_layers=12, vocab_size=2000, attn_implementation="eager"))

    class States(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, ids, mask):
            return self.net(input_ids=ids, attention_mask=mask, return_dict=True).last_hidden_state

    ids = torch.ones(2, 16, dtype=torch.long)
    dynamic = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    export_dynamo(States(), (ids, torch.ones_like(ids)), path + ".float", ["input_ids", "attention_mask"], (dynamic, dynamic))
    q.quantize_dynamic(path + ".float", path)
    os.remove(path + ".float")


@model
def rt_detr(path):
    from transformers import RTDetrConfig, RTDetrForObjectDetection, RTDetrResNetConfig
    backbone = RTDetrResNetConfig(out_features=["stage2", "stage3", "stage4"])
    net = RTDetrForObjectDetection(RTDetrConfig(backbone_config=backbone, use_pretrained_backbone=False, backbone=None))

    class Boxes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, image):
            out = self.net(image, return_dict=True)
            return out.logits, out.pred_boxes

    export(Boxes(), (torch.rand(1, 3, 640, 640),), path, ["image"], {"image": {0: "N"}}, opset=17)


def whisper():
    from transformers import WhisperConfig, WhisperModel
    return WhisperModel(WhisperConfig(encoder_layers=4, decoder_layers=4, d_model=384, encoder_attention_heads=6,
                                      decoder_attention_heads=6, encoder_ffn_dim=1536, decoder_ffn_dim=1536,
                                      attn_implementation="eager"))


@model
def whisper_encoder(path):
    net = whisper()

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net.encoder

        def forward(self, mel):
            return self.net(mel, return_dict=True).last_hidden_state

    export(Encoder(), (torch.rand(1, 80, 3000),), path, ["mel"], {"mel": {0: "N"}}, opset=17)


@model
def whisper_decoder(path):
    net = whisper()

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net.decoder

        def forward(self, ids, audio):
            return self.net(input_ids=ids, encoder_hidden_states=audio, use_cache=False, return_dict=True).last_hidden_state

    batch = torch.export.Dim.DYNAMIC
    export_dynamo(Decoder(), (torch.ones(2, 8, dtype=torch.long), torch.rand(2, 1500, 384)), path, ["ids", "audio"],
                  ({0: batch, 1: batch}, {0: batch}))


@model
def sam_mask_decoder(path):
    from transformers import SamConfig, SamModel
    from transformers.models.sam.configuration_sam import SamVisionConfig
    net = SamModel(SamConfig(vision_config=SamVisionConfig(num_hidden_layers=1, global_attn_indexes=[0], attn_implementation="eager")))

    class Masks(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, embedding, points, labels):
            out = self.net(image_embeddings=embedding, input_points=points, input_labels=labels, return_dict=True)
            return out.pred_masks, out.iou_scores

    export(Masks(), (torch.rand(1, 256, 64, 64), torch.rand(1, 1, 2, 2) * 1024, torch.ones(1, 1, 2, dtype=torch.long)), path,
           ["embedding", "points", "labels"], {"points": {2: "P"}, "labels": {2: "P"}}, opset=17)


def main():
    folder, wanted = sys.argv[1], sys.argv[2:]
    warnings.simplefilter("ignore")
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(1)
    numpy.random.seed(1)
    failed = 0
    for name, make in MODELS.items():
        path = os.path.join(folder, name + ".onnx")
        if wanted and name not in wanted or os.path.exists(path):
            continue
        try:
            make(path)
            print(f"{name}: {len(onnx.load(path, load_external_data=False).graph.node)} nodes", flush=True)
        except Exception as error:  # exporters' errors have no common base class
            failed += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
