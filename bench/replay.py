"""Times of a CUDA graph in PyTorch."""


def replay_us(torch, graph, stream, replays):
    """The microseconds of each replay, without the first three."""
    times = []
    for _ in range(replays + 3):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(stream):
            a.record()
            graph.replay()
            b.record()
        b.synchronize()
        times.append(1e3 * a.elapsed_time(b))
    return times[3:]
