"""The models that export.py writes: each a function that gives a module and the inputs it is traced with."""
import dataclasses

MODELS = {}


@dataclasses.dataclass
class Model:
    make: object      # () -> (module, inputs)
    inputs: dict      # name: {axis: symbol}; for integers also "high": the largest random value
    extents: dict     # symbol: its value where the tests run the model
    by: str           # "script", "dynamo" or "both": the exporters
    opset: int
    scripted: bool    # compiled by torch.jit.script, which keeps loops and branches


def model(inputs, extents=None, by="script", opset=17, scripted=False):
    """Registers the model of the function's name."""
    def register(make):
        MODELS[make.__name__] = Model(make, inputs, extents or {}, by, opset, scripted)
        return make
    return register
