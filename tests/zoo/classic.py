"""scikit-learn's models by skl2onnx."""
import numpy
import onnx
from skl2onnx import to_onnx
from sklearn import cluster, decomposition, ensemble, gaussian_process, linear_model, naive_bayes, neighbors, neural_network
from sklearn import pipeline, preprocessing, svm, tree


def data():
    rng = numpy.random.default_rng(3)
    x = rng.uniform(-1, 1, (60, 5)).astype(numpy.float32)
    y = (x[:, 0] * 2 + x[:, 1] ** 2 - x[:, 2]).astype(numpy.float32)
    return x, y, (x[:, 0] + x[:, 1] > x[:, 2]).astype(int) + (x[:, 3] > 0.5)


def estimators():
    forest = dict(max_depth=4, random_state=0)
    scaled = pipeline.make_pipeline
    return {
        "skl_forest": (ensemble.RandomForestClassifier(6, **forest), "kind"),
        "skl_boosting": (ensemble.GradientBoostingRegressor(n_estimators=8, max_depth=3, random_state=0), "y"),
        "skl_boosting_kinds": (ensemble.GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0), "kind"),
        "skl_isolation": (ensemble.IsolationForest(n_estimators=5, random_state=0), None),
        "skl_tree": (tree.DecisionTreeRegressor(**forest), "y"),
        "skl_svc": (svm.SVC(random_state=0), "kind"),
        "skl_svr": (svm.SVR(kernel="poly", degree=2), "y"),
        "skl_logistic": (scaled(preprocessing.StandardScaler(), preprocessing.PolynomialFeatures(2),
                                linear_model.LogisticRegression(max_iter=500)), "kind"),
        "skl_perceptron": (scaled(preprocessing.MinMaxScaler(), decomposition.PCA(3), neural_network.MLPClassifier(
            (8,), max_iter=300, random_state=0)), "kind"),
        "skl_bayes": (naive_bayes.GaussianNB(), "kind"),
        "skl_neighbours": (neighbors.KNeighborsRegressor(n_neighbors=3), "y"),
        "skl_means": (cluster.KMeans(4, n_init=2, random_state=0), None),
        "skl_process": (gaussian_process.GaussianProcessRegressor(alpha=0.1, random_state=0), "y"),
        "skl_lasso": (scaled(preprocessing.RobustScaler(), linear_model.Lasso(alpha=0.01)), "y"),
    }


def models(wanted):
    """The models' names and functions that make them."""
    for name, (estimator, target) in estimators().items():
        if not wanted or name in wanted:
            yield name, lambda estimator=estimator, target=target: convert(estimator, target)


def convert(estimator, target):
    x, y, kind = data()
    estimator.fit(x, {"y": y, "kind": kind}.get(target))
    options = {id(estimator): {"zipmap": False}} if target == "kind" else None
    model = to_onnx(estimator, x[:1], options=options, target_opset={"": 18, "ai.onnx.ml": 3})
    onnx.helper.set_model_props(model, {"extents": "N=6"})
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.tensor_type.shape.dim and not value.type.tensor_type.shape.dim[0].dim_value:
            value.type.tensor_type.shape.dim[0].dim_param = "N"
    return model
