"""A single node without a queue, whatever its name is. With a queue: "scheduler": "slurm", "access": ["--gres=gpu:1"]."""

site_configuration = {
    "systems": [
        {
            "name": "one_node",
            "descr": "the node at hand",
            "hostnames": [".*"],
            "partitions": [
                {
                    "name": "gpu",
                    "descr": "its GPUs",
                    "scheduler": "local",
                    "launcher": "local",
                    "environs": ["as_it_is"],
                    "max_jobs": 1,  # two measurements would disturb each other's times
                }
            ],
        }
    ],
    "environments": [{"name": "as_it_is"}],
}
